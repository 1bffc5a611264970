/** The parts of the name of a plugin's object. */
export const pluginServiceParts = (plugin: string): readonly string[] => ['plugin-service', plugin]
