import { create } from 'zustand';
import { persist } from 'zustand/middleware';

/** How instants are written: in the person's own zone or in UTC. */
export type Zone = 'local' | 'utc';

interface Look {
  zone: Zone;
  setZone: (zone: Zone) => void;
}

/** How the person wants things shown; day and night are kept by Mantine's own colour scheme manager. */
export const useLook = create<Look>()(
  persist((set) => ({ zone: 'local', setZone: (zone) => set({ zone }) }), { name: 'strongroom-look' }),
);
