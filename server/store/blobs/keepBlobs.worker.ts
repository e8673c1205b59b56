import { parentPort } from 'node:worker_threads';
import { type Keeping, keepRound } from './keepRound.ts';
import { ShardFolders } from './shardFolders.ts';

/** What became of each blob of a round: nothing to tell, or why it is not kept. */
export type RoundAnswer = ({ message: string; code: string | undefined } | null)[];

const folders = new ShardFolders();

parentPort?.on('message', (round: Keeping[]) => {
  void keepRound(round, folders).then((failures) => {
    const answer: RoundAnswer = failures.map((failure) =>
      failure ? { message: failure.message, code: codeOf(failure) } : null,
    );
    parentPort?.postMessage(answer);
  });
});

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
