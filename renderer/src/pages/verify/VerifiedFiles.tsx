import { Button } from '@mantine/core';
import { useMemo, useState } from 'react';
import { VirtualList } from '../../components/data/VirtualList.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { formatCount } from '../../format/size.ts';
import { FileResultRow } from './FileResultRow.tsx';
import { countVerdicts, type FileResult, VERDICT_ORDER, VERDICT_WORDS, type Verdict } from './fileResults.ts';
import type { ReportSubject } from './report.ts';
import { SaveReport } from './SaveReport.tsx';
import classes from './VerifyPage.module.css';

interface VerifiedFilesProps {
  subject: Omit<ReportSubject, 'at'>;
  /** Changes with the results, whose array stays the same while files are hashed. */
  version: number;
}

/** The dropped files with their verdicts, and a filter. */
export function VerifiedFiles({ subject, version }: VerifiedFilesProps) {
  const { results } = subject;
  const [only, setOnly] = useState<Verdict>();
  // oxlint-disable-next-line react/exhaustive-deps -- see `version`
  const shown = useMemo(() => inOrder(results, only), [results, version, only]);
  // oxlint-disable-next-line react/exhaustive-deps -- see `version`
  const counts = useMemo(() => countVerdicts(results), [results, version]);
  const filter = (verdict: Verdict | undefined, label: string) => (
    <Button
      key={label}
      size="compact-sm"
      variant={only === verdict ? 'filled' : 'default'}
      aria-pressed={only === verdict}
      onClick={() => setOnly(only === verdict ? undefined : verdict)}
    >
      {label}
    </Button>
  );
  return (
    <Section title="Files" actions={<SaveReport {...subject} />}>
      <fieldset className={classes.filters}>
        <legend className={classes.legend}>Show</legend>
        {filter(undefined, `All ${formatCount(results.length)}`)}
        {VERDICT_ORDER.filter((verdict) => counts[verdict] > 0).map((verdict) =>
          filter(verdict, `${VERDICT_WORDS[verdict]} ${formatCount(counts[verdict])}`),
        )}
      </fieldset>
      <VirtualList
        label="Verified files"
        items={shown}
        keyOf={({ path, verdict }) => `${path} ${verdict === 'missing'}`}
        render={(result) => <FileResultRow result={result} />}
      />
    </Section>
  );
}

/** What needs attention comes first. */
function inOrder(results: readonly FileResult[], only: Verdict | undefined): FileResult[] {
  if (only) return results.filter(({ verdict }) => verdict === only);
  const byVerdict = new Map<Verdict, FileResult[]>(VERDICT_ORDER.map((verdict) => [verdict, []]));
  for (const result of results) byVerdict.get(result.verdict)?.push(result);
  return [...byVerdict.values()].flat();
}
