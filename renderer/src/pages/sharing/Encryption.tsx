import { Switch } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../api/client.ts';
import { callKey, useCall } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Section } from '../../components/layout/Section.tsx';
import classes from './SharingPage.module.css';

/** Whether the node serves HTTPS, and the certificate by which others recognise it. A change applies at once. */
export function Encryption() {
  const queries = useQueryClient();
  const settings = useCall('readSettings');
  const addresses = useCall('readAddresses');
  const set = useMutation({
    mutationFn: (tls: boolean) => call('changeSettings', { body: { tls } }),
    onSuccess: async (next) => {
      queries.setQueryData(callKey('readSettings', {}), next);
      await queries.invalidateQueries({ queryKey: callKey('readAddresses') });
    },
  });
  const fingerprint = addresses.data?.tls_fingerprint;
  return (
    <Section title="Encryption">
      <Switch
        label="Serve HTTPS on the next port"
        description="Tokens and invitations are then refused over plain HTTP from other machines."
        checked={set.isPending ? set.variables : (settings.data?.tls ?? false)}
        disabled={!settings.data}
        onChange={(event) => set.mutate(event.currentTarget.checked)}
      />
      {fingerprint && (
        <p className={classes.certificate}>
          The certificate is this node’s own, so browsers warn once. Compare its SHA-256 fingerprint with the
          one that they show: <code className="wrap-anywhere">{fingerprint}</code>
        </p>
      )}
      {set.error && <ErrorNote error={set.error} />}
    </Section>
  );
}
