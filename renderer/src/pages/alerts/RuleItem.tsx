import { Badge, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Alert } from '../../../../shared/alerts/alert.ts';
import type { Delivery } from '../../../../shared/alerts/delivery.ts';
import { call } from '../../api/client.ts';
import { callKey } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { ItemButton, RemoveItemButton } from '../../components/forms/ItemButton.tsx';
import { RemoveDialog } from '../../components/forms/RemoveDialog.tsx';
import classes from './AlertsPage.module.css';
import { ruleSentence, targetWords } from './ruleSentence.ts';

export interface RuleItemProps {
  alert: Alert;
  nameOf: (source: string) => string;
  onEdit: () => void;
}

/** A rule: what it does in a sentence, and its buttons. */
export function RuleItem({ alert, nameOf, onEdit }: RuleItemProps) {
  const { name, paused } = alert;
  const [isRemoving, removing] = useDisclosure();
  const { test, pause, remove } = useRuleWork(alert, removing.close);
  return (
    <li>
      <h2 className={classes.name}>
        {name}
        {paused && (
          <Badge variant="default" className={classes.paused}>
            paused
          </Badge>
        )}
      </h2>
      <p className="wrap-anywhere">{ruleSentence(alert, nameOf)}</p>
      <Group gap="xs">
        <ItemButton label="Send a test" of={name} loading={test.isPending} onClick={() => test.mutate()} />
        <ItemButton label="Edit" of={name} onClick={onEdit} />
        <ItemButton
          label={paused ? 'Resume' : 'Pause'}
          of={name}
          loading={pause.isPending}
          onClick={() => pause.mutate()}
        />
        <RemoveItemButton of={name} onClick={removing.open} />
      </Group>
      {(test.error ?? pause.error) && <ErrorNote error={test.error ?? pause.error} />}
      <output aria-live="polite" className={classes.outcome}>
        {test.data?.deliveries.map((delivery) => (
          <TestOutcome key={delivery.id} delivery={delivery} />
        ))}
      </output>
      {isRemoving && (
        <RemoveDialog
          title="Remove this alert?"
          submit="Remove alert"
          removal={remove}
          onClose={removing.close}
        >
          “{name}” sends nothing more. What it sent stays listed.
        </RemoveDialog>
      )}
    </li>
  );
}

/** What the buttons of a rule do. */
function useRuleWork({ id, paused }: Alert, onRemoved: () => void) {
  const queries = useQueryClient();
  const params = { id };
  const test = useMutation({
    mutationFn: () => call('testAlert', { params }),
    onSettled: () => queries.invalidateQueries({ queryKey: callKey('listDeliveries') }),
  });
  const pause = useMutation({
    mutationFn: () => call('changeAlert', { params, body: { paused: !paused } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: callKey('listAlerts') }),
  });
  const remove = useMutation({
    mutationFn: () => call('removeAlert', { params }),
    onSuccess: async () => {
      onRemoved();
      await queries.invalidateQueries({ queryKey: callKey('listAlerts') });
      await queries.invalidateQueries({ queryKey: callKey('listDeliveries') });
    },
  });
  return { test, pause, remove };
}

function TestOutcome({ delivery: { to, state, error } }: { delivery: Delivery }) {
  const what = targetWords(to);
  return (
    <span className="small wrap-anywhere" data-bad={state !== 'sent' || undefined}>
      {state === 'sent' ? `Sent: ${what}.` : `Not sent: ${what}. ${error ?? ''}`}
    </span>
  );
}
