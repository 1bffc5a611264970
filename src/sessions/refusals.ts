import { IsolaError } from '#contracts/errors.ts'

export const unknownAgent = (agent: string) =>
  new IsolaError('request_model_not_found', `There is no agent "${agent}".`, { param: 'agent' })

export function otherBody(): IsolaError {
  const message = 'This Idempotency-Key was used with another body.'
  return new IsolaError('request_idempotency_mismatch', message, { param: 'Idempotency-Key' })
}

export const noSuchSession = () => new IsolaError('request_not_found', 'There is no such session.')
