import { readText } from '../../../api/readText.ts';
import { saveFile } from '../../../api/saveFile.ts';
import { checkpointFileName, parseCheckpoint } from './checkpointFile.ts';

/** Saves the node's checkpoint as it is: the signed note. Throws ApiProblem or NodeUnreachable. */
export async function saveCheckpoint(): Promise<void> {
  const text = await readText('readCheckpoint');
  const parsed = parseCheckpoint(text);
  if ('refused' in parsed) throw new Error('The node did not return a checkpoint. Try again.');
  saveFile(checkpointFileName(parsed.saved), text, 'text/plain');
}
