import { hash } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import type { ThreadTask, WorkerMessage } from './runtime/threads.ts';

/*
 * What takes a thread for moments: reading and checking what others sent, hashing, and copying files. A thread does one
 * task after the other, so it keeps nothing of them.
 */

type Task = (input: never, report: (progress: number) => void) => unknown;

/** Each loads its code with its first task. */
const TASKS: Readonly<Record<ThreadTask, () => Promise<Task>>> = {
  auditSlice: async () => (await import('./fixity/auditSlice.ts')).auditSlice,
  checkDatabase: async () => {
    const { integrityFindings, openForReading } = await import('./store/sqlite/engine/open.ts');
    return ({ file, atMost }: { file: string; atMost: number }) => {
      const database = openForReading(file);
      try {
        return integrityFindings(database, atMost);
      } finally {
        database.close();
      }
    };
  },
  checkRecord: async () => (await import('./archive/packs/checkRecord.ts')).checkRecordBytes,
  checkSelectors: async () => (await import('./collection/noise/selectors.ts')).findInvalid,
  copyFile: async () => (await import('./copies/targets/copyFile.ts')).copyFileSync,
  describe: async () => {
    const { openApiDocument } = await import('./http/openapi/document.ts');
    const { docsPage } = await import('./http/docs/page.ts');
    const { ROUTE_SPECS } = await import('../shared/routes.ts');
    return ({ node, origin }: { node: Parameters<typeof openApiDocument>[1]; origin: string }) => {
      const document = openApiDocument(ROUTE_SPECS, node);
      return { openapi: JSON.stringify(document), page: docsPage(document, origin) };
    };
  },
  hashFiles: async () => (await import('./hashing/hashFiles.ts')).digestsOfFiles,
  hashJoined: async () => (await import('./hashing/hashFiles.ts')).hashJoinedFiles,
  parseSet: async () => {
    const { parseSet } = await import('./archive/sets/setIndex.ts');
    return (bytes: Uint8Array) => ({ sha256: hash('sha256', bytes, 'hex'), parsed: parseSet(bytes) });
  },
  readCitations: async () => (await import('./repositories/citations/citations.ts')).readCitations,
  readRecord: async () => (await import('./repositories/readRecord.ts')).readRecord,
  readSourceList: async () =>
    (await import('./collection/sources/sourceList/readSourceList.ts')).tryToReadList,
  runAge: async () => (await import('./copies/keys/ageFiles.ts')).runAgeTask,
  unnamedSlice: async () => (await import('./fixity/unnamedSlice.ts')).unnamedSlice,
  verifyLedger: async () => (await import('./verification/ledger/verifyDatabase.ts')).verifyDatabase,
};

function answer(message: WorkerMessage<unknown, number>): void {
  parentPort?.postMessage(message);
}

async function run({ task, input }: { task: ThreadTask; input: unknown }): Promise<void> {
  try {
    const work = await TASKS[task]();
    answer({ result: await work(input as never, (progress) => answer({ progress })) });
  } catch (error) {
    answer({ failure: error instanceof Error ? error.message : String(error) });
  }
}

parentPort?.on('message', (message: Parameters<typeof run>[0]) => void run(message));
