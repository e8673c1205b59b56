import { parseArgs } from 'node:util';
import { type Command, DATA_OPTION, type ExitCode, JSON_OPTION, print } from './command.ts';
import { connectToNode } from './runningNode.ts';

const HELP = `Usage: strongroom sign-in [options]

Prints a link that signs one browser in as the owner of a running node, once. Where the node has a public address, a
second line is the same link there; one of the two can be used.

  --url URL        where the node listens, where its data folder does not tell
  --data DIR       its data folder, for the owner's token (default: ./strongroom-data)
  --token-file F   the owner's token, where it is kept elsewhere
  --json           one JSON object: {"url": …}, with "public_url" where there is one`;

export const signIn: Command = {
  name: 'sign-in',
  summary: 'print a link that signs a browser in as the owner, once',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values } = parseArgs({
      args,
      options: {
        url: { type: 'string' },
        data: DATA_OPTION,
        'token-file': { type: 'string' },
        json: JSON_OPTION,
      },
    });
    const node = await connectToNode(values);
    const link = (await node.ask('POST', '/manage/sign-in-links')) as { url: string; public_url?: string };
    print(values.json ? JSON.stringify(link) : Object.values(link).join('\n'));
    return 0;
  },
};
