"""Python source: routes, request models, rejections and the guards before them."""
