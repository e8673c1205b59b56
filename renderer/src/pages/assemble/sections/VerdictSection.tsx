import { Textarea } from '@mantine/core';
import { VERDICTS } from '../../../../../shared/archive/vocabulary.ts';
import { STATES } from '../../../components/data/states/states.ts';
import { useField, usePackForm } from '../formContext.ts';
import { ChoiceCards } from './ChoiceCards.tsx';
import { FormSection } from './FormSection.tsx';

/** The verdict of a replication, before everything that supports it. Nothing is shown for other packs. */
export function VerdictSection() {
  const { draft, change } = usePackForm();
  const verdict = useField('replicates', 'verdict');
  const note = useField('replicates', 'note');
  const { replicates } = draft;
  if (!replicates) return null;
  const set = (changes: Partial<typeof replicates>) => change({ replicates: { ...replicates, ...changes } });
  return (
    <FormSection title="Verdict" hint="Whether this replication found what the original pack found.">
      <ChoiceCards
        id={verdict.id}
        error={verdict.error}
        label="Verdict"
        choices={VERDICTS.map((value) => ({ value, ...STATES.verdict[value] }))}
        value={replicates.verdict}
        onChange={(value) => set({ verdict: value })}
      />
      <Textarea
        {...note}
        label="Note (optional)"
        description="What was done differently, and where the results differ."
        autosize
        minRows={2}
        maxRows={12}
        value={replicates.note}
        onChange={(event) => set({ note: event.currentTarget.value })}
      />
    </FormSection>
  );
}
