import type { Name } from '../../sql/ast.ts';

/** The name as text, in the case it was written in: `a.b.c`. */
export function nameText(name: Name): string {
  return name.parts.map((part) => part.text).join('.');
}

/** What two spellings of one name have in common. */
export function nameKey(text: string): string {
  return text.toLowerCase();
}

const builtSuffix = '.refresh';

/** Name of the flow that builds the new generation of another one's table. */
export function builtFlowOf(flow: string): string {
  return `${flow}${builtSuffix}`;
}

/** The flow whose table a flow of that kind builds; any other name as it is. */
export function flowOfBuilt(name: string): string {
  return name.endsWith(builtSuffix) ? name.slice(0, -builtSuffix.length) : name;
}

/** Whether a flow of this name would be taken for one that builds another one's table. */
export function isBuiltName(flow: string): boolean {
  return nameKey(flow).endsWith(builtSuffix);
}

const topicNameMax = 249;

/** Why Kafka would refuse a topic of this name, or undefined. */
export function topicNameFault(topic: string): string | undefined {
  if (topic === '') return 'it is empty';
  if (topic === '.' || topic === '..') return 'it is a path';
  if (topic.length > topicNameMax) return `it is longer than ${topicNameMax} characters`;
  const wrong = /[^a-zA-Z0-9._-]/u.exec(topic);
  return wrong === null ? undefined : `it contains ${JSON.stringify(wrong[0])}`;
}
