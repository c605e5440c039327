import type { TestProject } from 'vitest/node';
import { startServices } from './services.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** host:port, separated by commas. */
    kafkaBrokers: string;
    redisUrl: string;
    servicesMode: 'testcontainers' | 'native' | 'external';
  }
}

/** Starts the services of the integration tests once a run, and stops them at its end. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const services = await startServices();
  project.provide('kafkaBrokers', services.kafkaBrokers);
  project.provide('redisUrl', services.redisUrl);
  project.provide('servicesMode', services.mode);
  return () => services.stop();
}
