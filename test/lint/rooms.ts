/**
 * Defines which room may import which. Imports point downwards and form no cycles, type-only imports included. The reason
 * of a rule is the message of `npm run lint:imports`; `importRules.test.ts` tests each rule.
 */
export interface Room {
  /** The rooms and files that it may import, besides itself. */
  rooms: readonly string[];
  /** The packages that it may import; any if absent. `node:` means Node's built-in modules. */
  packages?: readonly string[];
  why: string;
}

/** The rooms that every service may import. */
const GROUND = ['server/runtime', 'server/store', 'shared'];
const SERVICES = [
  'server/ledger',
  'server/fixity',
  'server/hashing',
  'server/csv.ts',
  'server/html.ts',
  ...GROUND,
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
  'archive/ and collection/ import ledger/, fixity/, hashing/, store/, runtime/ and shared/ only: services do not import each other; shared code moves to a lower room.';

/** The rooms by path. A file belongs to the room with the longest matching path. */
export const ROOMS: Readonly<Record<string, Room>> = {
  shared: {
    rooms: [],
    packages: ['zod', 'canonicalize', 'jsonc-parser', 'asn1js', 'croner'],
    why: 'shared/ runs in the server, in workers and in the browser: it imports only zod, canonicalize, jsonc-parser, asn1js, croner and its own files.',
  },
  'server/runtime': {
    rooms: ['shared'],
    why: 'runtime/ runs jobs, threads and processes of any kind: it does not depend on what they do.',
  },
  'server/store': {
    rooms: ['server/runtime/workerUrl.ts', 'shared'],
    packages: ['node:', 'better-sqlite3'],
    why: 'server/store is the lowest room and ensures durability: it imports only shared/, the URLs of workers, Node and better-sqlite3.',
  },
  'server/hashing': {
    rooms: GROUND,
    why: 'hashing/ hashes bytes in threads: it does not depend on what they are.',
  },
  'server/ledger': {
    rooms: ['server/store', 'shared'],
    why: 'ledger/ imports store/ and shared/ only: it can be verified by itself and does not depend on its users.',
  },
  'server/fixity': {
    rooms: ['server/ledger', 'server/hashing', ...GROUND],
    why: 'fixity/ checks and repairs bytes: it does not depend on what they are.',
  },
  'server/archive': { rooms: SERVICES, why: APART },
  'server/collection': { rooms: SERVICES, why: APART },
  'server/findings': {
    rooms: SERVICES,
    why: 'findings/ records notes on events, objects and packs, which it names by their ids: it imports no other service.',
  },
  'server/cases': {
    rooms: [...ALL_SERVICES, 'server/evidence'],
    why: 'cases/ collects what services recorded, with its evidence: it imports services and evidence/, and nothing above them.',
  },
  'server/dump': {
    rooms: [
      'server/archive',
      'server/collection',
      'server/findings',
      'server/verification/ledger',
      ...SERVICES,
    ],
    why: 'dump/ writes and restores a whole archive: it imports services, and nothing above them.',
  },
  'server/verification/ledger': {
    rooms: ['server/archive', 'server/collection', 'server/findings', ...SERVICES],
    why: 'The verification of the ledger imports what each service records, and nothing above the services.',
  },
  'server/verification': {
    rooms: ALL_SERVICES,
    why: 'verification/ uses the same checks as uploads: it imports services, and they do not import it.',
  },
  'server/drift': {
    rooms: ['server/archive', 'server/collection', ...SERVICES],
    why: 'drift/ compares what packs relate to with what was collected: it imports services, and they do not import it.',
  },
  'server/copies': {
    rooms: [...ALL_SERVICES],
    why: 'copies/ writes and restores whole archives elsewhere: it imports services, and nothing above them.',
  },
  'server/peers': {
    rooms: [...ALL_SERVICES],
    why: 'peers/ takes records of other nodes into this archive: it imports services, and nothing above them.',
  },
  'server/alerts': {
    rooms: ['server/drift', ...ALL_SERVICES],
    why: 'alerts/ compares what services recorded with the rules of the owner, and sends: it imports services, and nothing above them.',
  },
  'server/evidence': {
    rooms: [...ALL_SERVICES],
    why: 'evidence/ collects what services recorded and what proves it: it imports services, and nothing above them.',
  },
  'server/owner': {
    rooms: GROUND,
    why: 'owner/ identifies the owner: it does not depend on what the owner does.',
  },
  'server/http': {
    rooms: [
      ...ALL_SERVICES,
      'server/cases',
      'server/alerts',
      'server/copies',
      'server/drift',
      'server/evidence',
      'server/peers',
      'server/owner',
      'server/config.ts',
    ],
    why: 'http/ calls services: it imports no command and no wiring.',
  },
  'server/cli': {
    rooms: [
      ...ALL_SERVICES,
      'server/copies',
      'server/peers',
      'server/owner',
      'server/config.ts',
      'server/node.ts',
    ],
    why: 'A command calls the same services as a route, and not the route.',
  },
  'server/launch': {
    rooms: ['server/cli', 'server/cli.ts', ...GROUND],
    why: 'launch/ starts a checkout: it builds what is missing and calls the command line.',
  },
  'server/config.ts': {
    rooms: ['server/runtime', 'server/collection', 'shared'],
    why: 'config.ts defines the options of a node: it imports types, and no wiring.',
  },
  'server/csv.ts': { rooms: ['shared'], why: 'csv.ts writes rows of any kind.' },
  'server/html.ts': { rooms: [], why: 'html.ts escapes text of any kind.' },
  'server/cli.ts': { rooms: ['server/cli', ...GROUND], why: 'cli.ts only calls the command line.' },
  'server/node.ts': { rooms: ['server', 'shared'], why: 'node.ts wires the rooms of the server together.' },
  'server/wiring': {
    rooms: ['server', 'shared'],
    why: 'wiring/ opens the services and hands them to the routes, for node.ts alone.',
  },
  server: {
    rooms: ['shared'],
    why: 'server/ runs without a window: it imports server/ and shared/ only, and the renderer reaches it by HTTP.',
  },
  electron: {
    rooms: ['shared', 'server/node.ts', 'server/config.ts', 'server/cli/main.ts', 'server/launch'],
    why: 'electron/ opens a node or runs the command line, and loads the renderer by URL: it imports nothing else.',
  },
  renderer: {
    rooms: ['shared'],
    why: 'renderer/ uses the server by HTTP only: it imports renderer/ and shared/.',
  },
};

export interface Ban {
  /** The imported package, or the imported file as a path relative to the root. */
  of: RegExp;
  by: RegExp;
  butBy?: RegExp;
  why: string;
}

/** Packages and files that only one room may import. */
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
    butBy: /^server\/http\/delivery\/blobs\/blobFile\.ts$/,
    why: 'A route accesses no file: it calls one service function. Only server/http/delivery/blobs/blobFile.ts reads files.',
  },
  {
    of: /^(node:.*|fs|fs\/promises|path|os|crypto|child_process|worker_threads|http|https|net)$/,
    by: /^renderer\//,
    why: 'renderer/ runs in a browser, where Node’s modules do not exist.',
  },
];
