import { type OpenedModel, type ProviderOptions, requiredApiKey, sdkSettings } from "../../models/provider.ts";

interface AnthropicPackage {
  createAnthropic(settings: object): (modelId: string) => object;
}

export async function open(sdk: unknown, modelId: string, options: ProviderOptions): Promise<OpenedModel> {
  const apiKey = requiredApiKey("anthropic", options, "ANTHROPIC_API_KEY");
  const provider = (sdk as AnthropicPackage).createAnthropic({ apiKey, ...sdkSettings(options) });
  return { languageModel: provider(modelId), secrets: [apiKey] };
}
