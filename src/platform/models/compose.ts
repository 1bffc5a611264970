import type { ModelConfig } from './types.ts'
import type { Clock } from '#contracts/sources.ts'
import { createModelProviders, type ModelProvidersDeps } from './model-providers.ts'

export interface ModelParts extends Omit<ModelProvidersDeps, 'sleep' | 'nowMs' | 'onFailed'> {
  readonly config: { readonly models: ModelConfig; readonly isDevelopment: boolean }
  readonly clock: Clock
  readonly onFault: NonNullable<ModelProvidersDeps['onFailed']>
}

/** Every model that is configured, behind one provider. */
export const composeModels = ({ config, clock, onFault, ...parts }: ModelParts) =>
  createModelProviders(config.models, {
    ...parts,
    sleep: clock.sleep,
    nowMs: clock.nowMs,
    // In development a server's failure is printed to the terminal; on a deployment the record has it.
    ...(config.isDevelopment && {
      onFailed: (failure: Parameters<typeof onFault>[0]) => onFault(failure),
    }),
  })
