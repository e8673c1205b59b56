import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { DEFAULT_HOST, DEFAULT_PORT } from '../config.ts';
import { isMissing } from '../store/blobs/blobStore.ts';
import { type Command, type ExitCode, print, UsageError } from './command.ts';

const DEFAULT_URL = `http://${DEFAULT_HOST}:${DEFAULT_PORT}`;

const HELP = `Usage: strongroom sign-in [options]

Prints a link that signs one browser in as the owner of a running node, once.

  --url URL        where the node listens (default: ${DEFAULT_URL})
  --data DIR       its data folder, for the owner's token (default: ./strongroom-data)
  --token-file F   the owner's token, where it is kept elsewhere
  --json           one JSON object: {"url": …}`;

export const signIn: Command = {
  name: 'sign-in',
  summary: 'print a link that signs a browser in as the owner, once',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values } = parseArgs({
      args,
      options: {
        url: { type: 'string', default: DEFAULT_URL },
        data: { type: 'string', default: 'strongroom-data' },
        'token-file': { type: 'string' },
        json: { type: 'boolean', default: false },
      },
    });
    const token = await readToken(resolve(values['token-file'] ?? join(values.data, 'owner-token')));
    const { url } = await askForLink(values.url, token);
    print(values.json ? JSON.stringify({ url }) : url);
    return 0;
  },
};

async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if (isMissing(error)) throw new UsageError(`There is no owner's token at ${file}.`);
    throw error;
  }
}

async function askForLink(node: string, token: string): Promise<{ url: string }> {
  const address = URL.parse('/manage/sign-in-links', node);
  if (!address) throw new UsageError(`${JSON.stringify(node)} is no address.`);
  let response: Response;
  try {
    response = await fetch(address, { method: 'POST', headers: { Authorization: `Bearer ${token}` } });
  } catch (cause) {
    throw new Error(`No node answers at ${node}. Say where it listens with --url.`, { cause });
  }
  if (response.status === 401)
    throw new Error(`The node at ${node} has another owner's token. Name its data folder with --data.`);
  if (response.status !== 201)
    throw new Error(`What answers at ${node} is no Strongroom node of this version.`);
  return (await response.json()) as { url: string };
}
