import { parseArgs } from 'node:util';
import { type Command, type ExitCode, print } from '../command.ts';
import { NODE_OPTIONS, optionsHelp } from '../options.ts';
import { connectToNode } from '../runningNode.ts';

const HELP = `Usage: strongroom sign-in [options]

Prints a link that signs one browser in as the owner of a running node. The link works once. If the node has a public
address, the second line is the same link at that address; only one of the two can be used.

${optionsHelp(NODE_OPTIONS)}

With --json: {"url": …}, and "public_url" if the node has a public address.`;

export const signIn: Command = {
  name: 'sign-in',
  summary: 'print a one-time link that signs a browser in as the owner',
  help: HELP,
  async run(args): Promise<ExitCode> {
    const { values } = parseArgs({ args, options: NODE_OPTIONS });
    const node = await connectToNode(values);
    const link = (await node.request('POST', '/manage/sign-in-links')) as {
      url: string;
      public_url?: string;
    };
    print(values.json ? JSON.stringify(link) : Object.values(link).join('\n'));
    return 0;
  },
};
