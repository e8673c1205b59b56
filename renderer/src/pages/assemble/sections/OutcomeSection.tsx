import { LICENSES, type License, OUTCOMES } from '../../../../../shared/archive/vocabulary.ts';
import { STATES } from '../../../components/data/states/states.ts';
import { useField, usePackForm } from '../formContext.ts';
import { ChoiceCards } from './ChoiceCards.tsx';
import { FormSection } from './FormSection.tsx';

const LICENSE_MEANINGS: Record<License, string> = {
  'CC-BY-4.0': 'Anyone may use, change and share the files if they credit the authors.',
  'CC0-1.0': 'Anyone may use the files for any purpose, without conditions.',
};

/** The licence. */
export function LicenseSection() {
  const { draft, change } = usePackForm();
  const license = useField('license');
  return (
    <FormSection
      title="Licence"
      hint="What others may do with the files. It cannot be changed after publishing."
    >
      <ChoiceCards
        id={license.id}
        error={license.error}
        label="Licence"
        choices={LICENSES.map((value) => ({ value, label: value, meaning: LICENSE_MEANINGS[value] }))}
        value={draft.license}
        onChange={(value) => change({ license: value })}
      />
    </FormSection>
  );
}

/** The outcome. */
export function OutcomeSection() {
  const { draft, change } = usePackForm();
  const outcome = useField('outcome');
  return (
    <FormSection title="Outcome" hint="How the result compares with the expectation.">
      <ChoiceCards
        id={outcome.id}
        error={outcome.error}
        label="Outcome"
        choices={OUTCOMES.map((value) => ({ value, ...STATES.outcome[value] }))}
        value={draft.outcome}
        onChange={(value) => change({ outcome: value })}
      />
    </FormSection>
  );
}
