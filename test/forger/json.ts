import { type Forgery, otherText, pick, type Random } from './forgery.ts';

/** A step into a value: a member, an element, or the JSON or the lines that a string holds. */
type Step = string | number | typeof JSON_IN | typeof LINES_IN;
const JSON_IN = Symbol('json');
const LINES_IN = Symbol('lines');
type Path = readonly Step[];

const REMOVED = Symbol('removed');

/** Every node of a value, also within strings that hold JSON or several lines. */
export function* nodesOf(value: unknown, path: Path = []): Generator<Path> {
  yield path;
  if (Array.isArray(value))
    for (const [index, each] of value.entries()) yield* nodesOf(each, [...path, index]);
  else if (typeof value === 'object' && value !== null)
    for (const [name, each] of Object.entries(value)) yield* nodesOf(each, [...path, name]);
  else if (typeof value === 'string') {
    const inner = jsonIn(value);
    if (inner !== undefined) yield* nodesOf(inner, [...path, JSON_IN]);
    else if (value.includes('\n'))
      for (const index of value.split('\n').keys()) yield [...path, LINES_IN, index];
  }
}

function jsonIn(text: string): unknown {
  if (!/^[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function pointerOf(path: Path): string {
  return path.map((step) => `/${typeof step === 'symbol' ? `(${step.description})` : step}`).join('') || '/';
}

/** Returns the value with one node changed. */
export function changed(value: unknown, [step, ...rest]: Path, change: (node: unknown) => unknown): unknown {
  if (step === undefined) return change(value);
  if (step === JSON_IN) return JSON.stringify(changed(jsonIn(String(value)), rest, change));
  if (step === LINES_IN) return (changed(String(value).split('\n'), rest, change) as string[]).join('\n');
  if (Array.isArray(value)) {
    const next = changed(value[step as number], rest, change);
    return next === REMOVED
      ? value.filter((_, index) => index !== step)
      : value.map((each: unknown, index) => (index === step ? next : each));
  }
  const next = changed((value as Record<string, unknown>)[step as string], rest, change);
  return Object.fromEntries(
    Object.entries(value as object).flatMap(([name, each]) =>
      name !== step ? [[name, each]] : next === REMOVED ? [] : [[name, next]],
    ),
  );
}

export function nodeAt(value: unknown, path: Path): unknown {
  let node = value;
  for (const step of path) {
    if (step === JSON_IN) node = jsonIn(String(node));
    else if (step === LINES_IN) node = String(node).split('\n');
    else node = (node as Record<string | number, unknown> | null | undefined)?.[step as string];
  }
  return node;
}

const OPERATIONS = [
  'delete',
  'null',
  'empty',
  'duplicate',
  'reorder',
  'truncate',
  'swap',
  'borrow',
  'change',
  'extra',
  'type',
  'version',
  'again',
] as const;

/** Forges one node of a value, and returns its text. */
export function forgeJson(
  genuine: unknown,
  other: unknown,
  random: Random,
  nodes: readonly Path[] = [...nodesOf(genuine)],
): Forgery<{ value: unknown; text: string }> {
  const path = pick(random, nodes);
  const operation = pick(random, OPERATIONS);
  const pointer = pointerOf(path);
  const done = (value: unknown, text = JSON.stringify(value) ?? '') => ({
    operation,
    pointer,
    input: { value, text },
  });
  const change = (by: (node: unknown) => unknown) => done(changed(genuine, path, by));
  switch (operation) {
    case 'delete':
      return path.length === 0 ? done({}) : change(() => REMOVED);
    case 'null':
      return change(() => null);
    case 'empty':
      return change(emptied);
    case 'duplicate':
      // The node a second time, beside itself in an array and within itself otherwise.
      return change((node) =>
        Array.isArray(node)
          ? [...node, ...node.slice(-1)]
          : typeof node === 'string'
            ? node + node
            : [node, node],
      );
    case 'reorder':
      return change((node) => reordered(node));
    case 'truncate':
      return change((node) => truncated(node, random));
    case 'swap':
      return change(() => nodeAt(other, path) ?? null);
    case 'borrow':
      return change(() => nodeAt(pick(random, [genuine, other]), pick(random, nodes)) ?? null);
    case 'change':
      return change((node) => altered(node, random));
    case 'extra':
      return change((node) =>
        Array.isArray(node)
          ? [...node, pick(random, [null, {}, '', 0])]
          : isObject(node)
            ? { ...node, extra: 'x' }
            : [node],
      );
    case 'type':
      return change(() => pick(random, [0, '', false, true, [], {}, 'x', -1, 1e300]));
    case 'version':
      return change((node) =>
        typeof node === 'string' && /\d/.test(node)
          ? node.replace(/\d(?=\D*$)/, String(Math.floor(random() * 10)))
          : node === 1
            ? 2
            : 1,
      );
    case 'again': {
      // The member is written twice. Which of them counts is up to the reader.
      const last = path.at(-1);
      if (typeof last !== 'string' || path.some((step) => typeof step === 'symbol'))
        return change(() => null);
      const node = nodeAt(genuine, path);
      const [first, second] = random() < 0.5 ? [node, altered(node, random)] : [altered(node, random), node];
      const MARK = '\u0000again';
      const marked = JSON.stringify(changed(genuine, path, () => MARK));
      const written = `${JSON.stringify(first)},${JSON.stringify(last)}:${JSON.stringify(second)}`;
      const text = marked.replace(JSON.stringify(MARK), () => written);
      return done(JSON.parse(text), text);
    }
  }
}

function isObject(node: unknown): node is Record<string, unknown> {
  return typeof node === 'object' && node !== null && !Array.isArray(node);
}

function emptied(node: unknown): unknown {
  if (Array.isArray(node)) return [];
  if (isObject(node)) return {};
  return typeof node === 'string' ? '' : 0;
}

function reordered(node: unknown): unknown {
  if (Array.isArray(node)) return [...(node as unknown[])].reverse();
  if (isObject(node)) return Object.fromEntries(Object.entries(node).reverse());
  return typeof node === 'string' ? node.split('').reverse().join('') : node;
}

function truncated(node: unknown, random: Random): unknown {
  if (Array.isArray(node)) return node.slice(0, Math.floor(random() * node.length));
  if (isObject(node)) return Object.fromEntries(Object.entries(node).slice(0, -1));
  return typeof node === 'string' ? node.slice(0, Math.floor(random() * node.length)) : 0;
}

function altered(node: unknown, random: Random): unknown {
  if (typeof node === 'string') return otherText(node, random);
  if (typeof node === 'number') return pick(random, [node + 1, node - 1, -node, node + 0.5]);
  if (typeof node === 'boolean') return !node;
  return node === null ? 'x' : null;
}
