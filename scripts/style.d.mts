interface Target {
  readonly isTTY?: boolean
}
type Env = Readonly<Record<string, string | undefined>>
type Name = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

export declare function hasColour(stream: Target, env?: Env): boolean
export declare function createStyle(
  stream: Target,
  env?: Env,
): Readonly<Record<Name, (text: string) => string>>
