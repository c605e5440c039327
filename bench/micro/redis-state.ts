import { openRedisStateStore } from '../../src/adapters/redis/redis-state-store.ts';
import { measureStateStore } from './state-workload.ts';

/** Usage: node --import tsx bench/micro/redis-state.ts redis://127.0.0.1:6379/15 */
const url = process.argv[2] ?? 'redis://127.0.0.1:6379/15';
await measureStateStore(() => openRedisStateStore({ url }));
