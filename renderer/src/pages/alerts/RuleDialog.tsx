import { Button, Group, Modal } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Alert } from '../../../../shared/alerts/alert.ts';
import { ApiProblem, call } from '../../api/client.ts';
import { callKey } from '../../api/useCall.ts';
import { CopyButton } from '../../components/forms/CopyButton.tsx';
import { DialogForm } from '../../components/forms/DialogForm.tsx';
import { FormDialog, type FormDialogControls } from '../../components/forms/FormDialog.tsx';
import { desktop } from '../../desktop.ts';
import classes from './AlertsPage.module.css';
import { RuleFields } from './RuleFields.tsx';
import { bodyOf, draftOf, EMPTY_DRAFT, faultsOf, fieldAt, type RuleDraft, whenOf } from './ruleDraft.ts';
import { ruleSentence } from './ruleSentence.ts';

export interface RuleDialogProps {
  /** The rule to edit; undefined for a new one. */
  alert: Alert | undefined;
  /** The source that a new rule is about. */
  source: string | undefined;
  nameOf: (source: string) => string;
  onClose: () => void;
}

/** Adds or changes a rule. Secrets that the node made are shown once, after saving. */
export function RuleDialog({ alert, source, nameOf, onClose }: RuleDialogProps) {
  const [saved, setSaved] = useState<Alert>();
  if (saved) return <MadeSecrets alert={saved} onClose={onClose} />;
  return (
    <FormDialog opened onClose={onClose} title={alert ? 'Edit alert' : 'New alert'} size="lg">
      {(controls) => (
        <RuleForm {...controls} alert={alert} source={source} nameOf={nameOf} onSaved={setSaved} />
      )}
    </FormDialog>
  );
}

type RuleFormProps = FormDialogControls &
  Pick<RuleDialogProps, 'alert' | 'source' | 'nameOf'> & { onSaved: (alert: Alert) => void };

function RuleForm({ alert, source, nameOf, onSaved, onDone, ...controls }: RuleFormProps) {
  const queries = useQueryClient();
  const form = useForm<RuleDraft>({
    initialValues: alert ? draftOf(alert) : newDraft(source, nameOf),
    validate: faultsOf,
  });
  const save = useMutation({
    mutationFn: (draft: RuleDraft) => {
      const body = bodyOf(draft);
      return alert ? call('changeAlert', { params: { id: alert.id }, body }) : call('addAlert', { body });
    },
    onError: (error, draft) => form.setErrors(serverFaults(error, draft)),
    onSuccess: async (rule) => {
      await queries.invalidateQueries({ queryKey: callKey('listAlerts') });
      if (rule.to.some((target) => target.kind === 'webhook' && target.secret !== undefined)) onSaved(rule);
      else onDone();
    },
  });
  const { to } = bodyOf(form.values);
  return (
    <DialogForm form={form} controls={controls} save={save} submit={alert ? 'Save' : 'Add alert'}>
      <div className={classes.fields}>
        <RuleFields form={form} nameOf={nameOf} />
        <p className={classes.sentence} aria-live="polite">
          {ruleSentence({ when: whenOf(form.values), to, every: form.values.every }, nameOf)}
        </p>
      </div>
    </DialogForm>
  );
}

function newDraft(source: string | undefined, nameOf: (source: string) => string): RuleDraft {
  const draft = { ...EMPTY_DRAFT, desktop: desktop() !== undefined };
  return source === undefined
    ? draft
    : { ...draft, sources: [source], name: `Changes of ${nameOf(source)}`.slice(0, 200) };
}

function serverFaults(error: unknown, draft: RuleDraft): Partial<Record<keyof RuleDraft, string>> {
  if (!(error instanceof ApiProblem)) return {};
  const body = bodyOf(draft);
  const pathOf = (pointer: string) =>
    pointer
      .slice(1)
      .split('/')
      .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  return Object.fromEntries(
    (error.document.errors ?? []).map(({ path, message }) => [fieldAt(body, pathOf(path)), message]),
  );
}

/** The secrets with which receivers check the signatures. */
function MadeSecrets({ alert, onClose }: { alert: Alert; onClose: () => void }) {
  const made = alert.to.flatMap((target) =>
    target.kind === 'webhook' && target.secret !== undefined ? [[target.url, target.secret] as const] : [],
  );
  return (
    <Modal opened onClose={onClose} title="The secret of the webhook" size="md" closeOnClickOutside={false}>
      <div className={classes.fields}>
        <p>
          Give it to the receiver, which checks the signature with it (Standard Webhooks). It is not shown
          again.
        </p>
        {made.map(([url, secret]) => (
          <div key={url} className={classes.what}>
            <span className="small wrap-anywhere">{url}</span>
            <span className="mono wrap-anywhere">{secret}</span>
            <CopyButton text={secret} what="the secret" />
          </div>
        ))}
        <Group justify="flex-end">
          <Button onClick={onClose}>Done</Button>
        </Group>
      </div>
    </Modal>
  );
}
