const infix: Readonly<Record<string, string>> = {
  add: '+',
  subtract: '-',
  multiply: '*',
  divide: '/',
  and: 'AND',
  or: 'OR',
  like: 'LIKE',
  '=': '=',
  '<=>': '<=>',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
};

const atom = /^(?:-?\d[\d.eE+-]*|true|false|null)/;

/**
 * An expression of a definition as SQL, for people: definitions print them with every type and conversion in full. `columns`
 * tells its columns, in lower case, from texts; absent: all are columns. Invariant: it never throws; a text that it
 * cannot read it gives back as it is.
 */
export function shownExpression(text: string, columns?: readonly string[]): string {
  const reader = new PrintedExpression(text, columns);
  const shown = reader.expression();
  return shown === undefined || !reader.isAtEnd ? text : unwrapped(shown);
}

/** What stands alone needs no parentheses. */
function unwrapped(sql: Shown): string {
  return sql.isOperation ? sql.text.slice(1, -1) : sql.text;
}

type Shown = {
  readonly text: string;
  /** It stands in parentheses, which its place may make superfluous. */
  readonly isOperation: boolean;
  readonly isLiteral: boolean;
};

function plain(text: string): Shown {
  return { text, isOperation: false, isLiteral: false };
}

function operation(text: string): Shown {
  return { text: `(${text})`, isOperation: true, isLiteral: false };
}

/** Reads the notation from left to right; undefined wherever it is not as expected. */
class PrintedExpression {
  readonly #text: string;
  readonly #columns: readonly string[] | undefined;
  #at = 0;

  constructor(text: string, columns: readonly string[] | undefined) {
    this.#text = text;
    this.#columns = columns;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  expression(): Shown | undefined {
    const rest = this.#text.slice(this.#at);
    if (rest.startsWith('(')) return this.#lambda(rest);
    if (rest.startsWith('"')) return this.#quoted(rest);
    const parameter = /^λ(\d+):/.exec(rest);
    if (parameter !== null) {
      this.#at += parameter[0].length - 1;
      return this.#type() === undefined ? undefined : plain(`x${parameter[1]}`);
    }
    const [value] = atom.exec(rest) ?? [];
    if (value !== undefined && rest[value.length] === ':') {
      this.#at += value.length;
      return this.#type() === undefined
        ? undefined
        : { text: value.toUpperCase(), isOperation: false, isLiteral: true };
    }
    return this.#call(rest);
  }

  #lambda(rest: string): Shown | undefined {
    const found = /^\(((?:λ\d+(?:, )?)+)\) -> /.exec(rest);
    if (found?.[1] === undefined) return undefined;
    this.#at += found[0].length;
    const body = this.expression();
    const names = found[1].replaceAll('λ', 'x');
    if (body === undefined) return undefined;
    return plain(`${names.includes(',') ? `(${names})` : names} -> ${unwrapped(body)}`);
  }

  /** A column by its name, or a literal. */
  #quoted(rest: string): Shown | undefined {
    const [quoted] = /^"(?:[^"\\]|\\.)*"/.exec(rest) ?? [];
    if (quoted === undefined) return undefined;
    this.#at += quoted.length;
    const type = this.#type();
    if (type === undefined) return undefined;
    const value = String(JSON.parse(quoted));
    if (this.#columns?.includes(value) ?? true) {
      return plain(/^[a-z_]\w*$/.test(value) ? value : `\`${value.replaceAll('`', '``')}\``);
    }
    const isBare = /^(?:bigint|decimal|interval)/.test(type);
    const literal = isBare ? value : `'${value.replaceAll("'", "''")}'`;
    const typed = /^(?:date|timestamp)/.exec(type);
    const text = typed === null ? literal : `${typed[0].toUpperCase()} ${literal}`;
    return { text, isOperation: false, isLiteral: true };
  }

  /** `name(details)[arguments]:type` */
  #call(rest: string): Shown | undefined {
    const [head, word] =
      /^([^\s"[\](),:]+)(?:\((?:[^()"]|\([^()]*\)|"(?:[^"\\]|\\.)*")*\))?\[/.exec(rest) ?? [];
    if (head === undefined || word === undefined) return undefined;
    const details = head.slice(word.length + 1, -2);
    this.#at += head.length;
    const given: Shown[] = [];
    while (this.#text[this.#at] !== ']') {
      if (given.length > 0) {
        if (!this.#text.startsWith(', ', this.#at)) return undefined;
        this.#at += 2;
      }
      const one = this.expression();
      if (one === undefined) return undefined;
      given.push(one);
    }
    this.#at += 1;
    const type = this.#type();
    return type === undefined ? undefined : callShown(word, details, given, type);
  }

  /** `:type`, up to where the expression around it goes on. */
  #type(): string | undefined {
    if (this.#text[this.#at] !== ':') return undefined;
    const start = this.#at + 1;
    let depth = 0;
    let at = start;
    for (; at < this.#text.length; at += 1) {
      const character = this.#text[at] ?? '';
      if ('<('.includes(character)) depth += 1;
      else if ('>)'.includes(character)) depth -= 1;
      else if (depth === 0 && ',]'.includes(character)) break;
    }
    this.#at = at;
    return this.#text.slice(start, at);
  }
}

function callShown(name: string, details: string, given: readonly Shown[], type: string): Shown {
  const [first, second] = given;
  const operator = infix[name];
  if (first !== undefined && second !== undefined) {
    if (operator !== undefined)
      return operation(given.map(({ text }) => text).join(` ${operator} `));
    if (name === 'element' || name === 'map_value')
      return plain(`${first.text}[${unwrapped(second)}]`);
    if (name === 'in') {
      return operation(`${first.text} IN (${given.slice(1).map(unwrapped).join(', ')})`);
    }
  }
  if (first !== undefined) {
    switch (name) {
      case 'cast':
        // A number among numbers is converted by itself.
        if (first.isLiteral) return first;
        return plain(`CAST(${unwrapped(first)} AS ${type.toUpperCase()})`);
      case 'field':
        return plain(`${first.text}.${details.slice(details.indexOf(',') + 1)}`);
      case 'negate':
        return operation(`-${first.text}`);
      case 'not':
        return operation(`NOT ${first.text}`);
      case 'is_null':
        return operation(`${first.text} IS NULL`);
      case 'case':
        return plain(caseShown(given));
    }
  }
  return plain(`${name}(${given.map(unwrapped).join(', ')})`);
}

function caseShown(given: readonly Shown[]): string {
  const texts = given.map(unwrapped);
  let text = 'CASE';
  let at = 0;
  for (; at + 1 < texts.length; at += 2) text += ` WHEN ${texts[at]} THEN ${texts[at + 1]}`;
  return `${text}${at < texts.length ? ` ELSE ${texts[at]}` : ''} END`;
}
