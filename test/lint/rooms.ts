/**
 * Which room may import which. Imports point downwards and never in a circle, type-only imports included. Each room's
 * reason is what `npm run lint:imports` says; `importRules.test.ts` shows that each rule bites.
 */
export interface Room {
  /** The rooms and files below it that it may import, beside itself. */
  rooms: readonly string[];
  /** The packages it may import; any if absent. `node:` stands for Node's own modules. */
  packages?: readonly string[];
  why: string;
}

/** What every service may stand on. */
const GROUND = ['server/runtime', 'server/store', 'shared'];
const SERVICES = ['server/ledger', 'server/fixity', 'server/hashing', 'server/csv.ts', ...GROUND];
const ALL_SERVICES = [
  'server/archive',
  'server/collection',
  'server/dump',
  'server/verification',
  ...SERVICES,
];

const APART =
  'archive/ and collection/ import ledger/, fixity/, hashing/, store/, runtime/ and shared/ only: services do not reach into each other; what two need goes down a floor.';

/** By path; the longest that fits a file is its room. */
export const ROOMS: Readonly<Record<string, Room>> = {
  shared: {
    rooms: [],
    packages: ['zod', 'canonicalize', 'jsonc-parser'],
    why: 'shared/ runs in the server, in workers and in the browser: it imports only zod, canonicalize, jsonc-parser and its own files.',
  },
  'server/runtime': {
    rooms: ['shared'],
    why: 'runtime/ runs work of any kind: it knows none of it.',
  },
  'server/store': {
    rooms: ['shared'],
    packages: ['node:', 'better-sqlite3'],
    why: 'server/store is the ground floor, where durability is argued: it imports only shared/, Node and better-sqlite3.',
  },
  'server/hashing': {
    rooms: GROUND,
    why: 'hashing/ reads bytes in threads: it knows nothing of what they are.',
  },
  'server/ledger': {
    rooms: ['server/store', 'shared'],
    why: 'ledger/ imports store/ and shared/ only: it is checked by itself and knows none of its users.',
  },
  'server/fixity': {
    rooms: ['server/ledger', 'server/hashing', ...GROUND],
    why: 'fixity/ looks after bytes and knows nothing of what they are.',
  },
  'server/archive': { rooms: SERVICES, why: APART },
  'server/collection': { rooms: SERVICES, why: APART },
  'server/dump': {
    rooms: ['server/archive', 'server/collection', 'server/verification/ledger', ...SERVICES],
    why: 'dump/ writes and reads a whole archive: it stands on the services and knows nothing above them.',
  },
  'server/verification/ledger': {
    rooms: ['server/archive', 'server/collection', ...SERVICES],
    why: 'The verification of the ledger knows what each service records, and nothing above them.',
  },
  'server/verification': {
    rooms: ALL_SERVICES,
    why: 'verification/ judges by the code that judges uploads: it imports services, never the other way round.',
  },
  'server/owner': { rooms: GROUND, why: 'owner/ knows who the owner is, and nothing of what they do.' },
  'server/http': {
    rooms: [...ALL_SERVICES, 'server/owner', 'server/config.ts'],
    why: 'http/ calls services: it reaches for no command and no wiring.',
  },
  'server/cli': {
    rooms: [...ALL_SERVICES, 'server/owner', 'server/config.ts', 'server/node.ts'],
    why: 'A command calls the same services as a route does, not the route.',
  },
  'server/launch': {
    rooms: ['server/cli', 'server/cli.ts', ...GROUND],
    why: 'launch/ starts a checkout: it builds what is missing and calls the command line.',
  },
  'server/config.ts': {
    rooms: ['server/runtime', 'server/collection', 'shared'],
    why: 'config.ts says how a node is opened: it imports types, and no wiring.',
  },
  'server/csv.ts': { rooms: ['shared'], why: 'csv.ts writes rows, whatever they are.' },
  'server/cli.ts': { rooms: ['server/cli', ...GROUND], why: 'cli.ts only calls the command line.' },
  'server/node.ts': { rooms: ['server', 'shared'], why: 'node.ts wires the rooms of the server together.' },
  server: {
    rooms: ['shared'],
    why: 'server/ runs without a window: it imports server/ and shared/ only, and the renderer reaches it by HTTP.',
  },
  electron: {
    rooms: ['shared', 'server/node.ts', 'server/config.ts', 'server/cli/main.ts', 'server/launch'],
    why: 'electron/ is as thin as it can be: it opens a node or runs the command line, and it loads the renderer by URL.',
  },
  renderer: {
    rooms: ['shared'],
    why: 'renderer/ reaches the server by HTTP and nothing else: it imports only renderer/ and shared/.',
  },
};

export interface Ban {
  /** What is imported, as written for a package, as a path from the root for a file. */
  of: RegExp;
  by: RegExp;
  butBy?: RegExp;
  why: string;
}

/** What single things no room but one may import. */
export const BANS: readonly Ban[] = [
  {
    of: /^better-sqlite3$/,
    by: /^(server|shared|electron|renderer)\//,
    butBy: /^server\/store\//,
    why: 'Only server/store speaks SQL, so that every write is made durable in one place: ask the store for a function.',
  },
  {
    of: /^electron$/,
    by: /^(server|shared|renderer)\//,
    why: 'Only electron/ knows of Electron: everything else also runs headless and in a plain browser.',
  },
  {
    of: /^server\/store\/(sqlite|blobs)\//,
    by: /^server\/http\//,
    why: 'A route parses, calls one service function and writes the answer: it may hand the open store on, but reaches for no table and no blob.',
  },
  {
    of: /^(node:)?fs(\/.*)?$/,
    by: /^server\/http\//,
    butBy: /^server\/http\/delivery\/blobFile\.ts$/,
    why: 'A route touches no file: it calls one service function. Only server/http/delivery/blobFile.ts reads files.',
  },
  {
    of: /^(node:.*|fs|fs\/promises|path|os|crypto|child_process|worker_threads|http|https|net)$/,
    by: /^renderer\//,
    why: 'renderer/ runs in a browser, where Node’s modules do not exist.',
  },
];
