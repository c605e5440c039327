/** Reasons by the numbers of the rules for full refreshes; FL-21: a name that is used for something else. */
export type ReasonId =
  | 'FR-11'
  | 'FR-12'
  | 'FR-13'
  | 'FR-14'
  | 'FR-15'
  | 'FR-16'
  | 'FR-18'
  | 'FR-19'
  | 'FR-20'
  | 'FR-21'
  | 'FR-22'
  | 'FR-26'
  | 'FR-27'
  | 'FR-28'
  | 'FL-21';

/** One thing that differs between two definitions of a flow, and whether it may go on with the second. */
export type FlowChange = {
  readonly id: ReasonId;
  /** `compatible`: the flow goes on from its checkpoint. `refresh`: what is there contradicts the new definition. */
  readonly effect: 'compatible' | 'refresh';
  /** One sentence for a person. */
  readonly text: string;
};

export function refresh(id: ReasonId, text: string): FlowChange {
  return { id, effect: 'refresh', text };
}

export function compatible(id: ReasonId, text: string): FlowChange {
  return { id, effect: 'compatible', text };
}
