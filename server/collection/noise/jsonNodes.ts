type Container = Record<string | number, unknown>;
type Location = readonly (string | number)[];

/**
 * Takes the values at these locations out of a JSON value, in place, and gives back what they were, as JSON. What lies
 * within another of them is part of that one.
 */
export function removeNodes(
  value: unknown,
  locations: readonly Location[],
): { value: unknown; pieces: string[] } {
  if (locations.some((location) => location.length === 0)) {
    return { value: null, pieces: [JSON.stringify(value)] };
  }
  const leaving: Leaving = new Map();
  for (const location of locations) {
    const parent = parentOf(value, location);
    if (!parent || Object.isFrozen(parent)) continue;
    const names = leaving.get(parent) ?? new Set();
    leaving.set(parent, names.add(String(location.at(-1))));
  }
  const pieces: string[] = [];
  takeOut(value, leaving, pieces);
  return { value, pieces };
}

/** The names of what is to leave each object and list. */
type Leaving = Map<Container, Set<string>>;

function takeOut(value: unknown, leaving: Leaving, pieces: string[]): void {
  if (typeof value !== 'object' || value === null) return;
  const container = value as Container;
  const names = leaving.get(container);
  for (const name of Object.keys(container)) {
    if (names?.has(name)) pieces.push(`${name}:${JSON.stringify(container[name])}`);
    else takeOut(container[name], leaving, pieces);
  }
  if (!names) return;
  if (Array.isArray(container)) keepOnly(container, (index) => !names.has(String(index)));
  else for (const name of names) delete container[name];
}

function parentOf(value: unknown, location: Location): Container | undefined {
  let parent = value as Container | undefined;
  for (const step of location.slice(0, -1)) parent = parent?.[step] as Container | undefined;
  return parent;
}

function keepOnly(list: unknown[], isKept: (index: number) => boolean): void {
  let length = 0;
  for (let index = 0; index < list.length; index += 1) {
    if (!isKept(index)) continue;
    list[length] = list[index];
    length += 1;
  }
  list.length = length;
}

/** Every string of a JSON value that is no name of a member, in the order in which they stand. */
export function textsOf(value: unknown): string[] {
  const texts: string[] = [];
  mapTexts(value, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

/** Puts other strings in the place of those that `textsOf` gave. */
export function replaceTexts(value: unknown, texts: readonly string[]): unknown {
  let next = 0;
  return mapTexts(value, (text) => texts[next++] ?? text);
}

function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const container = value as Container;
  for (const name of Object.keys(container)) container[name] = mapTexts(container[name], map);
  return container;
}
