import type { ModelCallOptions } from '#contracts/model.ts'

/** A caller that listens to nothing and has budget for every retry. */
export const callOptions = (more: Partial<ModelCallOptions> = {}): ModelCallOptions => ({
  signal: new AbortController().signal,
  onDelta: () => {},
  onSent: () => {},
  onBegun: () => {},
  mayRetry: () => true,
  ...more,
})
