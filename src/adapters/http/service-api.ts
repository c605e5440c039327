/** What a probe is told: nothing speaks against it, or what does. */
export type Verdict = { readonly reasons: readonly string[] };

export type JsonObject = Readonly<Record<string, unknown>>;

export type Exposition = { readonly contentType: string; readonly text: string };

export type EventQuery = {
  readonly flow: string | undefined;
  /** Only events after this one. */
  readonly after: number | undefined;
  readonly limit: number;
};

/** What a POST to the refresh of a table asks for. */
export type RefreshAction = {
  readonly action: 'plan' | 'start' | 'cancel';
  readonly inPlace?: boolean;
  readonly allowLoss?: boolean;
  readonly keepUnrecoverable?: boolean;
};

/**
 * What the routes ask the service for. Contract: names go without case; `undefined` means that there is no such
 * thing; what is not possible rejects with a FlowError or an HttpProblem.
 */
export interface ServiceApi {
  /** The main loop turns. Kafka or Redis being away is no reason. */
  alive(): Verdict;
  /** The groups were joined; restores may go on. */
  started(): Verdict;
  /** Everything assigned is restored and has caught up once. */
  ready(): Verdict;
  metrics(): Promise<Exposition>;
  pipeline(): JsonObject;
  flows(): readonly JsonObject[];
  flow(name: string): JsonObject | undefined;
  tables(): readonly JsonObject[];
  table(name: string): JsonObject | undefined;
  /** JSON text, since no digit of a row may pass through a JavaScript number. */
  rows(table: string, key: string): Promise<string | undefined>;
  /** Why a key has the rows that it has; JSON text, too. */
  why(table: string, key: string): Promise<string | undefined>;
  /** `isOver`: what was asked is done; else it goes on. */
  refresh(
    table: string,
    request: RefreshAction,
  ): Promise<{ readonly isOver: boolean; readonly body: JsonObject } | undefined>;
  gaps(): Promise<readonly JsonObject[]>;
  events(query: EventQuery): readonly JsonObject[];
}
