import type { Expression } from '../../../src/sql/ast.ts';
import { printExpression } from '../../../src/sql/print.ts';

/** The tree without places, so that trees of different texts compare. */
export function withoutPlaces(tree: unknown): unknown {
  if (Array.isArray(tree)) return tree.map(withoutPlaces);
  if (typeof tree !== 'object' || tree === null) return tree;
  // A flag that says where it was written.
  if ('file' in tree && 'start' in tree && 'line' in tree) return true;
  const entries = Object.entries(tree).filter(([key]) => !/place$/i.test(key));
  return Object.fromEntries(entries.map(([key, value]) => [key, withoutPlaces(value)]));
}

/** Every operator in brackets: `[a + [b * c]]`; what is no operator as it is printed. */
export function shape(node: Expression): string {
  switch (node.node) {
    case 'unary':
      return `[${node.operator} ${shape(node.operand)}]`;
    case 'binary':
      return `[${shape(node.left)} ${node.operator} ${shape(node.right)}]`;
    case 'between':
      return `[${shape(node.value)} ${node.negated ? 'not ' : ''}between ${shape(node.low)} ${shape(node.high)}]`;
    case 'in':
      return `[${shape(node.value)} ${node.negated ? 'not ' : ''}in ${node.list.map(shape).join(' ')}]`;
    case 'is':
      return `[${shape(node.value)} is ${node.negated ? 'not ' : ''}${node.test}]`;
    case 'is_distinct':
      return `[${shape(node.left)} is ${node.negated ? 'not ' : ''}distinct ${shape(node.right)}]`;
    case 'like':
      return `[${shape(node.value)} ${node.negated ? 'not ' : ''}${node.operator} ${node.patterns.map(shape).join(' ')}]`;
    case 'cast':
      return `[${shape(node.value)} :: ${node.type.node === 'simple' ? node.type.name : node.type.node}]`;
    case 'subscript':
      return `[${shape(node.value)} at ${shape(node.index)}]`;
    case 'field':
      return `[${shape(node.value)} . ${node.field.text}]`;
    case 'path':
      return `[${shape(node.value)} : ${node.path}]`;
    default:
      return printExpression(node);
  }
}
