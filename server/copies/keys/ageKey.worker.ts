import { workerData } from 'node:worker_threads';
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { answerParent } from '../../runtime/answerParent.ts';
import {
  type AgeFile,
  decryptFile,
  decryptText,
  encryptFile,
  encryptText,
  identitiesIn,
} from './ageFiles.ts';

/**
 * Deriving a key from a passphrase takes seconds, on purpose, and large objects are encrypted here; hence a thread.
 * `age-encryption` is a development dependency, because the build puts what is used of it into this file: as a whole it is
 * ten times as large. An `identity` may be several, one on each line.
 */
export type AgeTask =
  | { encrypt: string; passphrase: string }
  | { decrypt: Uint8Array; passphrase: string }
  | { generate: true }
  | { recipientOf: string }
  | { text: string; recipient: string }
  | { encrypted: readonly string[]; identity: string }
  | { files: readonly AgeFile[]; recipient: string }
  | { files: readonly AgeFile[]; identity: string };

async function run(task: AgeTask): Promise<unknown> {
  if ('encrypt' in task) {
    const encrypter = new Encrypter();
    encrypter.setPassphrase(task.passphrase);
    return encrypter.encrypt(task.encrypt);
  }
  if ('decrypt' in task) {
    const decrypter = new Decrypter();
    decrypter.addPassphrase(task.passphrase);
    return decrypter.decrypt(task.decrypt, 'text');
  }
  if ('generate' in task) return generateX25519Identity();
  if ('recipientOf' in task) {
    // Each, so that one with a wrong character is found before anything is encrypted.
    const [first] = await Promise.all(
      identitiesIn(task.recipientOf).map((each) => identityToRecipient(each)),
    );
    return first;
  }
  if ('text' in task) return encryptText(task.text, task.recipient);
  if ('encrypted' in task) return Promise.all(task.encrypted.map((each) => decryptText(each, task.identity)));
  const results: unknown[] = [];
  for (const file of task.files)
    results.push(
      'recipient' in task ? await encryptFile(file, task.recipient) : await decryptFile(file, task.identity),
    );
  return results;
}

await answerParent(() => run(workerData as AgeTask));
