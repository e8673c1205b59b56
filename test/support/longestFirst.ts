import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take long. If one of them began last, one processor would idle meanwhile. */
const LONG = [
  /\/(hostile|hugeLists|killed\w+|bucket|checkout|forgeries|simulate|everyWay|lyingPeer)\.(trial\.)?test\.ts$/,
  /\/test\/copies\//,
  /\/cli\/serve\.test\.ts$/,
  /\/(loadedTimeline|deriver|importSources|largeRound)\.test\.ts$/,
];

/** Begins with the files that are known to take long, and then the largest, because a clean checkout has no records. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONG.some((pattern) => pattern.test(moduleId));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
