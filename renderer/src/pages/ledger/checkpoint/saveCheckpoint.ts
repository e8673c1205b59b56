import { readText } from '../../../api/client.ts';
import { saveFile } from '../../../components/forms/buttons.tsx';
import { checkpointFileName, parseCheckpoint } from './compareCheckpoint.ts';

/** Saves the node's checkpoint as it is: the signed note. Throws ApiProblem or NodeUnreachable. */
export async function saveCheckpoint(): Promise<void> {
  const text = await readText('readCheckpoint');
  const parsed = parseCheckpoint(text);
  if ('refused' in parsed) throw new Error('The node did not return a checkpoint. Try again.');
  saveFile(checkpointFileName(parsed.saved), text, 'text/plain');
}
