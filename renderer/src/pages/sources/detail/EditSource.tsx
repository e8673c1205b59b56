import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect, useState } from 'react';
import type { SourceChange, WatchedSource } from '../../../../../shared/collection/source.ts';
import { call } from '../../../api/client.ts';
import { callKey } from '../../../api/useCall.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { DialogButtons } from '../../../components/forms/DialogButtons.tsx';
import { FormDialog, type FormDialogControls } from '../../../components/forms/FormDialog.tsx';
import classes from '../form/AddSource.module.css';
import { SourceFields } from '../form/SourceFields.tsx';
import { changeOf, type DraftErrors, draftOf, errorsOf } from '../form/sourceForm.ts';
import { NoiseFields } from '../noise/NoiseFields.tsx';
import { NoisePreviewPanel } from '../noise/NoisePreviewPanel.tsx';
import { type NoiseErrors, ruleErrorsOf, rulesOf, type TypedRule, typedRules } from '../noise/noiseRules.ts';
import { useNoiseRun } from '../noise/noiseRun.ts';

export interface EditSourceProps {
  source: WatchedSource;
  opened: boolean;
  onClose: () => void;
}

/** Edits a source's settings. Its URL identifies it and cannot change. */
export function EditSource({ source, opened, onClose }: EditSourceProps) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Edit source" size="xl">
      {(controls) => <EditSourceForm source={source} {...controls} />}
    </FormDialog>
  );
}

function EditSourceForm({
  source,
  onDone,
  onCancel,
  onDirty,
}: Pick<EditSourceProps, 'source'> & FormDialogControls) {
  const [draft, setDraft] = useState(() => draftOf(source));
  const [errors, setErrors] = useState<DraftErrors>({});
  const [rules, setRules] = useState<readonly TypedRule[]>(() => typedRules(source.noise_rules));
  const [ruleErrors, setRuleErrors] = useState<NoiseErrors>({});
  const save = useSave(source, onDone);
  const run = useNoiseRun((state) => state.start);
  const runSaved = () => {
    void run(source.id);
    onDone();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const parsed = changeOf(draft);
    const parsedRules = rulesOf(rules);
    setErrors('errors' in parsed ? parsed.errors : {});
    setRuleErrors('errors' in parsedRules ? parsedRules.errors : {});
    if ('errors' in parsed || 'errors' in parsedRules) return;
    save.mutate(
      { ...parsed.value, noise_rules: parsedRules.value },
      {
        onError: (error) => {
          setErrors(errorsOf(error));
          setRuleErrors(ruleErrorsOf(error, 'noise_rules'));
        },
      },
    );
  };
  const isDirty = !areSaved(rules, source) || JSON.stringify(draft) !== JSON.stringify(draftOf(source));
  useEffect(() => onDirty(isDirty), [isDirty, onDirty]);
  const isShownAtFields = Object.keys(errors).length + Object.keys(ruleErrors).length > 0;
  return (
    <form onSubmit={submit} className={classes.form} noValidate>
      <p className="muted small wrap-anywhere">{source.url}</p>
      <SourceFields
        draft={draft}
        errors={errors}
        canAllowPrivate
        onChange={(change) => setDraft((before) => ({ ...before, ...change }))}
      />
      <NoiseFields rules={rules} errors={ruleErrors} onChange={setRules} />
      {rules.length > 0 && (
        <NoisePreviewPanel
          sourceId={source.id}
          rules={rules}
          onRun={areSaved(rules, source) ? runSaved : undefined}
          onErrors={setRuleErrors}
        />
      )}
      {save.isError && !isShownAtFields && <ErrorNote error={save.error} />}
      <DialogButtons submit="Save" isPending={save.isPending} onCancel={onCancel} />
    </form>
  );
}

/** Whether the rules equal the saved ones. */
function areSaved(rules: readonly TypedRule[], { noise_rules }: WatchedSource): boolean {
  const parsed = rulesOf(rules);
  return 'value' in parsed && JSON.stringify(parsed.value) === JSON.stringify(noise_rules);
}

function useSave(source: WatchedSource, onSaved: () => void) {
  const client = useQueryClient();
  const offerRun = useNoiseRun((run) => run.offer);
  return useMutation({
    mutationFn: (change: SourceChange) => call('changeSource', { params: { id: source.id }, body: change }),
    onSuccess: async ({ noise_rules }) => {
      await Promise.all(
        (['listWatchedSources', 'readWatchedSource', 'listSources'] as const).map((name) =>
          client.invalidateQueries({ queryKey: callKey(name) }),
        ),
      );
      const isOther = JSON.stringify(noise_rules) !== JSON.stringify(source.noise_rules);
      if (isOther && noise_rules.length > 0) offerRun(source.id);
      onSaved();
    },
  });
}
