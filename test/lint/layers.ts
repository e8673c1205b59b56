/**
 * Defines which layer may import which. Imports point downwards and form no cycles, type-only imports included. The reason
 * of a rule is the message of `npm run lint:imports`; `importRules.test.ts` tests each rule.
 */
export interface Layer {
  /** The layers and files that it may import, besides itself. */
  layers: readonly string[];
  /** The packages that it may import; any if absent. `node:` means Node's built-in modules. */
  packages?: readonly string[];
  why: string;
}

/** The layers that every service may import. */
const BASE = ['server/runtime', 'server/store', 'shared'];
const SERVICES = [
  'server/ledger',
  'server/fixity',
  'server/withholding',
  'server/hashing',
  'server/zip',
  'server/charset.ts',
  'server/csv.ts',
  'server/html.ts',
  ...BASE,
];
const ALL_SERVICES = [
  'server/archive',
  'server/collection',
  'server/findings',
  'server/dump',
  'server/verification',
  ...SERVICES,
];

const APART =
  'archive/ and collection/ import ledger/, fixity/, hashing/, store/, runtime/ and shared/ only: services do not import each other; shared code moves to a lower layer.';

/** The layers by path. A file belongs to the layer with the longest matching path. */
export const LAYERS: Readonly<Record<string, Layer>> = {
  shared: {
    layers: [],
    packages: [
      'zod',
      'canonicalize',
      'jsonc-parser',
      'asn1js',
      'croner',
      'htmlparser2',
      '@noble/ed25519',
      '@noble/hashes',
    ],
    why: 'shared/ runs in the server, in workers and in the browser: it imports only zod, canonicalize, jsonc-parser, asn1js, croner, htmlparser2, @noble and its own files.',
  },
  'server/runtime': {
    layers: ['shared'],
    why: 'runtime/ runs jobs, threads and processes of any kind: it does not depend on what they do.',
  },
  'server/store': {
    layers: ['server/runtime/background.ts', 'server/runtime/workerUrl.ts', 'shared'],
    packages: ['node:', 'better-sqlite3', 'p-limit'],
    why: 'server/store is the lowest layer and ensures durability: it imports only shared/, timers, the URLs of workers, Node, better-sqlite3 and p-limit.',
  },
  'server/hashing': {
    layers: BASE,
    why: 'hashing/ hashes bytes in threads: it does not depend on what they are.',
  },
  'server/zip': {
    layers: ['shared'],
    packages: ['node:', 'yauzl'],
    why: 'zip/ reads and writes ZIP files: it does not depend on what is in them.',
  },
  'server/ledger': {
    layers: ['server/runtime/background.ts', 'server/store', 'shared'],
    why: 'ledger/ imports store/, shared/ and timers only: it can be verified by itself and does not depend on its users.',
  },
  'server/fixity': {
    layers: ['server/ledger', 'server/hashing', ...BASE],
    why: 'fixity/ checks and repairs bytes: it does not depend on what they are.',
  },
  'server/moving': {
    layers: ['server/ledger', 'server/fixity', ...BASE],
    why: 'moving/ copies a whole data folder and verifies it: it does not depend on what services recorded.',
  },
  'server/withholding': {
    layers: ['server/ledger', ...BASE],
    why: 'withholding/ says who may read which bytes: everything that gives out bytes asks it, and it depends on none of that.',
  },
  'server/archive': { layers: SERVICES, why: APART },
  'server/browser': {
    layers: ['server/runtime', 'shared'],
    why: 'browser/ draws pages for whoever answers their requests: it knows no archive.',
  },
  'server/collection': { layers: ['server/browser', ...SERVICES], why: APART },
  'server/findings': {
    layers: SERVICES,
    why: 'findings/ records notes on events, objects and packs, which it names by their ids: it imports no other service.',
  },
  'server/repositories': {
    layers: ['server/archive', 'server/collection', ...SERVICES],
    why: 'repositories/ makes drafts of records elsewhere: it fetches as the collector does and writes drafts, and neither knows of it.',
  },
  'server/citations': {
    layers: ['server/archive', 'server/collection', 'server/findings', ...SERVICES],
    why: 'citations/ cites what services recorded: it imports services, and they do not import it.',
  },
  'server/harvesting': {
    layers: ['server/archive', 'server/citations', ...SERVICES],
    why: 'harvesting/ describes packs as they are cited: it imports archive/ and citations/, and nothing above them.',
  },
  'server/cases': {
    layers: [...ALL_SERVICES, 'server/evidence'],
    why: 'cases/ collects what services recorded, with its evidence: it imports services and evidence/, and nothing above them.',
  },
  'server/dump': {
    layers: [
      'server/archive',
      'server/collection',
      'server/findings',
      'server/verification/ledger',
      ...SERVICES,
    ],
    why: 'dump/ writes and restores a whole archive: it imports services, and nothing above them.',
  },
  'server/verification/ledger': {
    layers: ['server/archive', 'server/collection', 'server/findings', ...SERVICES],
    why: 'The verification of the ledger imports what each service records, and nothing above the services.',
  },
  'server/verification': {
    layers: ALL_SERVICES,
    why: 'verification/ uses the same checks as uploads: it imports services, and they do not import it.',
  },
  'server/drift': {
    layers: ['server/archive', 'server/collection', ...SERVICES],
    why: 'drift/ compares what packs relate to with what was collected: it imports services, and they do not import it.',
  },
  'server/copies': {
    layers: ['server/citations', 'server/harvesting/formats.ts', ...ALL_SERVICES],
    why: 'copies/ writes and restores whole archives elsewhere: it imports services, and nothing above them.',
  },
  'server/peers': {
    layers: [...ALL_SERVICES],
    why: 'peers/ takes records of other nodes into this archive: it imports services, and nothing above them.',
  },
  'server/repositories/deposit': {
    layers: ['server/archive', 'server/collection', 'server/citations', ...SERVICES],
    why: 'repositories/deposit/ puts packs into repositories as they are cited: it imports services, and nothing above them.',
  },
  'server/alerts': {
    layers: ['server/drift', ...ALL_SERVICES],
    why: 'alerts/ compares what services recorded with the rules of the owner, and sends: it imports services, and nothing above them.',
  },
  'server/evidence': {
    layers: [...ALL_SERVICES],
    why: 'evidence/ collects what services recorded and what proves it: it imports services, and nothing above them.',
  },
  'server/updates': {
    layers: ['server/ledger', ...BASE],
    why: 'updates/ asks for the newest version by the function for outgoing requests: it depends on no service.',
  },
  'server/owner': {
    layers: BASE,
    why: 'owner/ identifies the owner: it does not depend on what the owner does.',
  },
  'server/http': {
    layers: [
      ...ALL_SERVICES,
      'server/cases',
      'server/alerts',
      'server/citations',
      'server/copies',
      'server/drift',
      'server/evidence',
      'server/harvesting',
      'server/peers',
      'server/repositories',
      'server/owner',
      'server/updates',
      'server/moving',
      'server/config.ts',
    ],
    why: 'http/ calls services: it imports no command and no wiring.',
  },
  'server/cli': {
    layers: [
      ...ALL_SERVICES,
      'server/copies',
      'server/evidence',
      'server/moving',
      'server/config.ts',
      'server/node.ts',
    ],
    why: 'A command works on files and folders, or asks a node: it imports no route.',
  },
  'server/launch': {
    layers: ['server/cli', 'server/cli.ts', 'server/copies/pages/buildAssets.ts', ...BASE],
    why: 'launch/ starts a checkout: it builds what is missing and calls the command line.',
  },
  'server/config.ts': {
    layers: ['server/runtime', 'server/browser', 'server/collection', 'server/copies', 'shared'],
    why: 'config.ts defines the options of a node: it imports types, and no wiring.',
  },
  'server/charset.ts': { layers: [], why: 'charset.ts decodes text files of any kind.' },
  'server/csv.ts': { layers: ['shared'], why: 'csv.ts writes rows of any kind.' },
  'server/html.ts': { layers: [], why: 'html.ts escapes text of any kind.' },
  'server/cli.ts': { layers: ['server/cli', ...BASE], why: 'cli.ts only calls the command line.' },
  'server/node.ts': { layers: ['server', 'shared'], why: 'node.ts wires the layers of the server together.' },
  'server/wiring': {
    layers: ['server', 'shared'],
    why: 'wiring/ opens the services and hands them to the routes, for node.ts alone.',
  },
  server: {
    layers: ['shared'],
    why: 'server/ runs without a window: it imports server/ and shared/ only, and the renderer reaches it by HTTP.',
  },
  electron: {
    layers: [
      'shared',
      'server/node.ts',
      'server/config.ts',
      'server/cli/main.ts',
      'server/moving',
      'server/launch',
      'server/runtime/background.ts',
      'server/runtime/child.ts',
      'server/runtime/log.ts',
      'server/browser',
    ],
    why: 'electron/ opens a node or runs the command line, sets timers, starts processes, writes a log, draws pages, and loads the renderer by URL: it imports nothing else.',
  },
  renderer: {
    layers: ['shared'],
    why: 'renderer/ uses the server by HTTP only: it imports renderer/ and shared/.',
  },
};

export interface Ban {
  /** The imported package, or the imported file as a path relative to the root; of a ban of text, what is found in it. */
  of: RegExp;
  by: RegExp;
  butBy?: RegExp;
  why: string;
}

/** Packages and files that only one layer may import. */
export const BANS: readonly Ban[] = [
  {
    of: /^better-sqlite3$/,
    by: /^(server|shared|electron|renderer)\//,
    butBy: /^server\/store\//,
    why: 'Only server/store uses SQL, so that every write is made durable in one place: use a function of the store.',
  },
  {
    of: /^electron$/,
    by: /^(server|shared|renderer)\//,
    why: 'Only electron/ imports Electron: everything else also runs headless and in a plain browser.',
  },
  {
    of: /^server\/store\/(sqlite|blobs)\//,
    by: /^server\/http\//,
    why: 'A route parses the request, calls one service function and writes the response: it may pass the store on, but accesses no table and no blob.',
  },
  {
    of: /^(node:)?fs(\/.*)?$/,
    by: /^server\/http\//,
    butBy: /^server\/http\/delivery\/blobs\.ts$/,
    why: 'A route accesses no file: it calls one service function. Only server/http/delivery/blobs.ts reads files.',
  },
  {
    of: /^(node:.*|fs|fs\/promises|path|os|crypto|child_process|worker_threads|http|https|net)$/,
    by: /^renderer\//,
    butBy: /^renderer\/(vite\.config|inlineScripts|extension\/build)\.ts$/,
    why: 'renderer/ runs in a browser, where Node’s modules do not exist.',
  },
];

/** What the text of a file must not have, comments left out. */
export const TEXT_BANS: readonly Ban[] = [
  {
    of: /\bstatement(<[^()]*>)?\(|[dD]atabase\.prepare\b|\.prepare(<[^()]*>)?\(\s*['"`]/,
    by: /^server\//,
    // It asks a database of which only the lock matters.
    butBy: /^server\/store\/(sqlite\/engine\/|opening\/folderLock\.ts$)/,
    why: 'Only server/store/sqlite/engine prepares statements: declare the query with a function of queries.ts.',
  },
  {
    of: /\b(one|all|each|eachValue|columnOf|run)(<[^()]*>)?\(\s*[\w.#]+,\s*(['"`])\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b((?!\3|\$\{)[^])*\3/,
    by: /^server\//,
    butBy: /^server\/store\/sqlite\/engine\//,
    why: 'This SQL is the same for each call: declare the query, so that a test prepares it.',
  },
  {
    of: /\b(SELECT|INSERT|UPDATE|DELETE|WHERE|AND|OR|SET|VALUES|LIMIT)\b[^`;]*?[\s(=<>,][@:][a-z]\w*/,
    by: /^server\//,
    why: 'A placeholder is ? or $name.',
  },
  {
    of: /print\(\s*JSON\.stringify/,
    by: /^server\/cli\//,
    why: 'JSON may have text from elsewhere: print it with printJson, which escapes what acts on a terminal.',
  },
];
