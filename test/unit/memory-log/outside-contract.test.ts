import { MemoryLog } from '../../../src/adapters/memory/memory-log.ts';
import { systemClock } from '../../../src/adapters/system/system-clock.ts';
import { describeOutsideContract } from '../../support/outside-contract.ts';

describeOutsideContract('memory', () => Promise.resolve(new MemoryLog({ clock: systemClock })));
