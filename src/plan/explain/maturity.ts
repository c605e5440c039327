import type { FlowKind } from '../flows/flow-kind.ts';

/** `beta`: its results are final, its options may still change. `experimental`: either may. */
export type Maturity = 'beta' | 'experimental';

/** How far each kind of flow is, as shown by `plan` and in docs/sql.md (RQ-10). */
export const flowMaturity: Readonly<Record<FlowKind | 'join' | 'sift', Maturity>> = {
  replace_using: 'beta',
  append: 'beta',
  once: 'experimental',
  replace_using_once: 'experimental',
  replace_where: 'experimental',
  replace_where_once: 'experimental',
  auto_cdc: 'experimental',
  auto_cdc_once: 'experimental',
  join: 'experimental',
  sift: 'experimental',
};
