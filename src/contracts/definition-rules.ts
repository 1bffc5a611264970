/** The first answer that is not `undefined`. */
export const first = <T, Found = string>(
  values: readonly T[],
  ask: (value: T) => Found | undefined,
): Found | undefined =>
  values.reduce<Found | undefined>((found, value) => found ?? ask(value), undefined)
