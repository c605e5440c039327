// biome-ignore-all lint/performance/noBarrelFile: what users import stands in one place
/** The public API of the package: pipelines in TypeScript, and their tests. */

export type { Columns, ColumnType, Shape, ShapeOf, ValueOf } from './api/column-type.ts';
export { MaterializedView, Sink, Source, Table, View } from './api/dataset.ts';
export { aggregates, call, column, literal, SqlExpression } from './api/expression.ts';
export { Pipeline, type PipelineDefinition, pipeline } from './api/pipeline.ts';
export { from, Query, stream } from './api/query.ts';
export { SqlText, sql } from './api/sql-text.ts';
export { PipelineTest, testPipeline } from './testing/pipeline/pipeline-test.ts';
