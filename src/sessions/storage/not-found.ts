import { IsolaError } from '#contracts/errors.ts'

export const noSuchRun = () =>
  new IsolaError('request_not_found', 'There is no such run in this session.')

export const noSuchSession = () => new IsolaError('request_not_found', 'There is no such session.')
