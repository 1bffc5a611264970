import { createPromptStore } from './prompt-store.ts'
import { createScratchpad } from './scratchpad.ts'

type ScratchpadParts = Parameters<typeof createScratchpad>[0]

/** Prompts and scratchpads, for the composition. */
export function composeMemory({ buildIndex }: Pick<ScratchpadParts, 'buildIndex'>) {
  return {
    createPrompts: createPromptStore,
    createMemory: (storage: ScratchpadParts['storage']) =>
      createScratchpad({ storage, buildIndex }),
  }
}
