/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The list of model families. A family is X(name in C, name in YAML, documentation); it has struct
 * NAME, NAME_fields, NAME_presets, NAME_check and NAME_build in NAME.h. */
#ifndef DLX_MODEL_FAMILIES_H
#define DLX_MODEL_FAMILIES_H

#include "model/cosmoflow.h"
#include "model/deepcam.h"
#include "model/deeplab.h"
#include "model/fcn.h"
#include "model/layers.h"
#include "model/networks.h"
#include "model/resnet.h"
#include "model/tiramisu.h"
#include "model/unet3d.h"

#define FAMILIES(X)                                                                      \
	X(cosmoflow, "cosmoflow",                                                            \
	  "CosmoFlow, parameters of the universe from a cube of it (Mathuriya 2018)")        \
	X(deepcam, "deepcam", "DeepLabv3+ on an Xception encoder, of MLPerf HPC")            \
	X(deeplab, "deeplabv3+", "pyramid of dilations on a ResNet (Chen 2018; Kurth 2018)") \
	X(fcn, "fcn", "FC-DenseNet, dense blocks in a U (Jegou 2017; Laanait 2019)")         \
	X(layers, "layers", "a list of layers with names, blocks and repeats")               \
	X(networks, "networks", "named dense networks of points, which solve equations")     \
	X(resnet, "resnet", "ResNet v1.5, labels for images, torchvision's (He 2015)")       \
	X(tiramisu, "tiramisu", "FC-DenseNet for climate (Jegou 2017; Kurth 2018)")          \
	X(unet3d, "unet3d", "3D U-Net, labels for volumes (Cicek 2016; Oyama 2020)")

#endif
