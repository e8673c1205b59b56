import { evidencePageDigests } from '../../renderer/inlineScripts.ts';

/* Prints the digests of the script and the style of evidence files, for `shared/proof/evidence/writtenPages.ts` (CONTRIBUTING). */

process.stdout.write(`${JSON.stringify(await evidencePageDigests(), null, 2)}\n`);
