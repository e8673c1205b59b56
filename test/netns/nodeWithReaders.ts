import { main } from '../../server/cli/main.ts';
import type { ReaderLimits } from '../../server/config.ts';

/** `strongroom` with other bounds for readers, which come first, as JSON: a test does not wait a minute. */
const [readers = '{}', ...args] = process.argv.slice(2);
process.exitCode = await main(args, { readers: JSON.parse(readers) as Partial<ReaderLimits> });
