/** Orders two semantic versions: below 0 if the first is older. A pre-release is older than its release. */
export function compareVersions(a: string, b: string): number {
  const [coreA, preA] = splitVersion(a)
  const [coreB, preB] = splitVersion(b)
  const order = compareLists(coreA.split('.'), coreB.split('.'))
  if (order !== 0 || preA === preB) return order
  if (preA === undefined || preB === undefined) return preA === undefined ? 1 : -1
  return compareLists(preA.split('.'), preB.split('.'))
}

function splitVersion(version: string): readonly [string, string | undefined] {
  const at = version.indexOf('-')
  return at < 0 ? [version, undefined] : [version.slice(0, at), version.slice(at + 1)]
}

/** Semantic versioning 2.0.0, item 11: numbers by value and before words, the shorter list first. A core is such a list too. */
function compareLists(a: readonly string[], b: readonly string[]): number {
  for (const [index, one] of a.entries()) {
    const other = b[index]
    if (other === undefined) return 1
    if (one === other) continue
    const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)]
    if (isNumber && isOtherNumber && Number(one) !== Number(other))
      return Number(one) - Number(other)
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
    return one < other ? -1 : 1
  }
  return a.length - b.length
}
