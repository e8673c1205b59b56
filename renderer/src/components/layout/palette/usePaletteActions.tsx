import { useMantineColorScheme } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from 'react-router';
import { callKey } from '../../../api/useCall.ts';
import { useDisplaySettings } from '../../../state/displaySettings.ts';
import { useIsOwner, useMayContribute, useSession } from '../../../state/session.ts';
import { describeError } from '../../feedback/ErrorNote.tsx';
import { actionsFor, matchingActions, type PaletteAction } from './actions.tsx';
import { watchableAddress } from './directMatches.ts';

/** The actions that match what is typed, and the keys of those that have some. */
export function usePaletteActions(typed: string): {
  actions: PaletteAction[];
  run: (action: PaletteAction) => void;
} {
  const owner = useIsOwner();
  const mayContribute = useMayContribute();
  const sharing = useSession(({ session }) => session?.sharing ?? 'off');
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { zone, setZone } = useDisplaySettings();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const context = {
    owner,
    mayContribute,
    sharing,
    scheme: colorScheme,
    zone,
    navigate,
    setScheme: setColorScheme,
    setZone,
  };
  const run = (action: PaletteAction) => {
    void Promise.resolve(action.run())
      .then(() => queries.invalidateQueries({ queryKey: callKey('readSharing') }))
      .catch((error: unknown) =>
        notifications.show({
          title: `“${action.label}” failed`,
          message: describeError(error).sentence,
          color: 'red',
          autoClose: false,
        }),
      );
  };
  const withKeys = actionsFor({ ...context, address: undefined }).filter(({ keys }) => keys !== undefined);
  // With the physical key, because Alt changes the character on some keyboards.
  useHotkeys(
    withKeys.map((action) => [`alt+shift+${action.keys}`, () => run(action), { usePhysicalKeys: true }]),
  );
  const address = watchableAddress(typed, window.location.origin);
  const actions = matchingActions(actionsFor({ ...context, address }), typed);
  return { actions, run };
}

/** How the keys of an action are shown. */
export function shownKeys(keys: string): string {
  return /Mac|iP/.test(navigator.platform) ? `⌥⇧${keys}` : `Alt+Shift+${keys}`;
}
