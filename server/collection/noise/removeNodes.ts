type Container = Record<string | number, unknown>;
type Location = readonly (string | number)[];

/**
 * Removes the values at these locations from a JSON value, in place, and returns the removed values as JSON. A location
 * within another one is removed with it.
 */
export function removeNodes(
  value: unknown,
  locations: readonly Location[],
): { value: unknown; pieces: string[] } {
  if (locations.some((location) => location.length === 0)) {
    return { value: null, pieces: [JSON.stringify(value)] };
  }
  const removals: Removals = new Map();
  for (const location of locations) {
    const parent = parentOf(value, location);
    if (!parent || Object.isFrozen(parent)) continue;
    const names = removals.get(parent) ?? new Set();
    removals.set(parent, names.add(String(location.at(-1))));
  }
  const pieces: string[] = [];
  removeFrom(value, removals, pieces);
  return { value, pieces };
}

/** The names and indexes to be removed from each object and list. */
type Removals = Map<Container, Set<string>>;

function removeFrom(value: unknown, removals: Removals, pieces: string[]): void {
  if (typeof value !== 'object' || value === null) return;
  const container = value as Container;
  const names = removals.get(container);
  for (const name of Object.keys(container)) {
    if (names?.has(name)) pieces.push(`${name}:${JSON.stringify(container[name])}`);
    else removeFrom(container[name], removals, pieces);
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

/** Returns every string value of a JSON value, in order. Member names are not included. */
export function stringsOf(value: unknown): string[] {
  const texts: string[] = [];
  mapStrings(value, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

/** Replaces the strings returned by `stringsOf` with others, in the same order. */
export function replaceStrings(value: unknown, texts: readonly string[]): unknown {
  let next = 0;
  return mapStrings(value, (text) => texts[next++] ?? text);
}

function mapStrings(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  const container = value as Container;
  for (const name of Object.keys(container)) container[name] = mapStrings(container[name], map);
  return container;
}
