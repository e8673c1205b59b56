import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { BANS, LAYERS, TEXT_BANS } from './layers.ts';

/** A forbidden import or text: the file that has it, and the rule that forbids it. */
export interface Finding {
  file: string;
  message: string;
}

const SPECIFIER = /\b(?:from|import)\s*\(?\s*'([\w@.#/:*-]+)'/g;

/** Checks every import in a checkout against the table of layers, and finds dependency cycles and SQL in another style. */
export function checkImports(root: string): Finding[] {
  const files = globSync('{server,shared,electron,renderer}/**/*.{ts,tsx}', { cwd: root }).map((file) =>
    file.replaceAll('\\', '/'),
  );
  const graph = new Map<string, string[]>();
  const findings: Finding[] = [];
  for (const file of files) {
    const imported = importsOf(root, file);
    graph.set(file, imported);
    for (const what of imported)
      for (const why of objections(file, what)) findings.push({ file, message: `imports ${what}. ${why}` });
    for (const why of banned(file, readFileSync(join(root, file), 'utf8')))
      findings.push({ file, message: why });
  }
  for (const cycle of cyclesIn(graph))
    findings.push({
      file: cycle[0] ?? '',
      message: `Dependency cycle: ${cycle.join(' and ')} import each other.`,
    });
  return findings;
}

/** Returns the imports of a file: paths relative to the root, and names of packages. */
function importsOf(root: string, file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  const specifiers = [...text.matchAll(SPECIFIER)].map(([, specifier = '']) => specifier);
  return [...new Set(specifiers)].flatMap((specifier) => {
    if (!specifier.startsWith('.')) return [specifier];
    const path = normalize(join(dirname(file), specifier)).replaceAll('\\', '/');
    // A path without a file is not an import but data. The type check finds broken imports.
    return /\.tsx?$/.test(path) || existsSync(join(root, path)) ? [path] : [];
  });
}

/** Says why a file must not have what its text has. */
function banned(file: string, text: string): string[] {
  const code = text.replaceAll(/^\s*(\/\*[^]*?\*\/|\/\/.*)/gm, '');
  return TEXT_BANS.filter(({ of, by, butBy }) => by.test(file) && !butBy?.test(file) && of.test(code)).map(
    ({ why }) => why,
  );
}

function* objections(file: string, what: string): Generator<string> {
  for (const { of, by, butBy, why } of BANS)
    if (of.test(what) && by.test(file) && !butBy?.test(file)) yield why;
  const name = layerOf(file);
  const layer = name === undefined ? undefined : LAYERS[name];
  if (name === undefined || !layer) return;
  const isFile = /^(server|shared|electron|renderer|test)\//.test(what);
  if (isFile) {
    if (![name, ...layer.layers].some((each) => isIn(what, each))) yield layer.why;
  } else if (layer.packages && !layer.packages.some((each) => isPackage(what, each))) yield layer.why;
}

function layerOf(file: string): string | undefined {
  return Object.keys(LAYERS)
    .filter((layer) => isIn(file, layer))
    .sort((a, b) => b.length - a.length)[0];
}

function isIn(path: string, layer: string): boolean {
  return path === layer || path.startsWith(`${layer}/`);
}

function isPackage(specifier: string, name: string): boolean {
  return name.endsWith(':') ? specifier.startsWith(name) : isIn(specifier, name);
}

/** Returns the sets of files that import each other, directly or indirectly (Tarjan’s strongly connected components). */
function cyclesIn(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = [];
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const visit = (file: string): number => {
    const number = order.size;
    order.set(file, number);
    lowest.set(file, number);
    stack.push(file);
    for (const next of graph.get(file) ?? []) {
      if (!graph.has(next)) continue;
      const reached = order.has(next)
        ? stack.includes(next)
          ? (order.get(next) ?? number)
          : number
        : visit(next);
      lowest.set(file, Math.min(lowest.get(file) ?? number, reached));
    }
    if (lowest.get(file) === number) {
      const members = stack.splice(stack.indexOf(file));
      if (members.length > 1 || graph.get(file)?.includes(file)) circles.push(members);
    }
    return lowest.get(file) ?? number;
  };
  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return circles;
}

if (import.meta.main) {
  const findings = checkImports(join(import.meta.dirname, '../..'));
  for (const { file, message } of findings) process.stderr.write(`${file}: ${message}\n`);
  process.stdout.write(`${findings.length} broken import rules.\n`);
  process.exitCode = findings.length > 0 ? 1 : 0;
}
