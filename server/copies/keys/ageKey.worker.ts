import { workerData } from 'node:worker_threads';
import { Decrypter, Encrypter } from 'age-encryption';
import { answerParent } from '../../runtime/answerParent.ts';

/**
 * Deriving a key from a passphrase takes seconds, on purpose; hence a thread. `age-encryption` is a development dependency,
 * because the build puts what is used of it into this file: as a whole it is ten times as large.
 */
export type AgeTask = { encrypt: string; passphrase: string } | { decrypt: Uint8Array; passphrase: string };

async function run(task: AgeTask): Promise<Uint8Array | string> {
  if ('encrypt' in task) {
    const encrypter = new Encrypter();
    encrypter.setPassphrase(task.passphrase);
    return encrypter.encrypt(task.encrypt);
  }
  const decrypter = new Decrypter();
  decrypter.addPassphrase(task.passphrase);
  return decrypter.decrypt(task.decrypt, 'text');
}

await answerParent(() => run(workerData as AgeTask));
