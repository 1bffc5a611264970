import type { ModelProvider } from '#contracts/model.ts'

/** A provider before selection: `request.model` is a name that this service knows. */
export type ModelBackend = Pick<ModelProvider, 'id' | 'estimate' | 'generate'>
