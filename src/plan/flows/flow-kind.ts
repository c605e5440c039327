import type { FlowDeclaration } from '../catalog.ts';

/** What a flow does to its target, as its clauses say. */
export type FlowKind =
  | 'replace_using'
  | 'append'
  | 'once'
  | 'replace_using_once'
  | 'replace_where'
  | 'replace_where_once'
  | 'auto_cdc'
  | 'auto_cdc_once';

export function kindOf(flow: FlowDeclaration): FlowKind {
  const { body } = flow;
  if (body.node === 'auto_cdc') return body.cdc.once ? 'auto_cdc_once' : 'auto_cdc';
  if (body.replaceUsing !== undefined) return body.once ? 'replace_using_once' : 'replace_using';
  if (body.replaceWhere !== undefined) return body.once ? 'replace_where_once' : 'replace_where';
  return body.once ? 'once' : 'append';
}

/** How each kind is called in messages, with its article. */
export const flowNouns: Readonly<Record<FlowKind, string>> = {
  replace_using: 'a REPLACE USING flow',
  append: 'an append flow',
  once: 'a once flow',
  replace_using_once: 'a REPLACE USING flow that runs once',
  replace_where: 'a REPLACE WHERE flow',
  replace_where_once: 'a REPLACE WHERE flow that runs once',
  auto_cdc: 'an AUTO CDC flow',
  auto_cdc_once: 'an AUTO CDC flow that runs once',
};
