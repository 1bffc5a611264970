import { IsolaError } from '#contracts/errors.ts'

export const noSuchRun = () =>
  new IsolaError('request_not_found', 'There is no such run in this session.')

/** A cursor that is of another session, or of nothing. */
export const noSuchPlace = (param: string) =>
  new IsolaError('request_not_found', `${param}: there is no such run in this session.`, { param })

export const noSuchChild = () =>
  new IsolaError('request_not_found', 'fromChild: there is no such child on this page of runs.', {
    param: 'fromChild',
  })

export const noSuchSession = () => new IsolaError('request_not_found', 'There is no such session.')
